/* Chunks of a chunked body (RFC 9112, 7.1): "0000001a\r\n...\r\n".  All that we send is written
 * here; what we receive is read by llhttp (http/parser.h) and libcurl.
 *
 * The size has leading zeros, so that its room is known before the size is.  Where
 * @is_chunked is false, bytes go out as they are: HTTP/1.0, a WebSocket. */
#ifndef HTTP_CHUNK_H
#define HTTP_CHUNK_H

#include "base/buf.h"

#define HTTP_LAST_CHUNK "0\r\n\r\n"

/* Returns what http_chunk_end takes as @from: all that is appended to @b between the two
 * becomes one chunk, or nothing when nothing was. */
size_t http_chunk_begin(struct buf *b, bool is_chunked);
void http_chunk_end(struct buf *b, size_t from, bool is_chunked);

/* Appends @bytes as one chunk. */
void http_chunk_put(struct buf *b, struct str bytes, bool is_chunked);

#endif
