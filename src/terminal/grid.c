#include "terminal/grid.h"

#include "base/visible.h"

enum { MAX_BYTES = 256 * 1024 * 1024, GAP = 2 };

struct cell {
    size_t end; /* in text; it begins where the one before ends */
    unsigned width;
    enum term_style style;
};

void grid_init(struct grid *g, const char *const *titles)
{
    *g = (struct grid){ 0 };
    buf_init(&g->text, MAX_BYTES);
    buf_init(&g->cells, MAX_BYTES);
    for (; titles[g->n_columns] != NULL; g->n_columns++) {
        g->titles[g->n_columns] = titles[g->n_columns];
        g->widths[g->n_columns] = term_columns(str_of(titles[g->n_columns]));
    }
}

void grid_done(struct grid *g)
{
    buf_done(&g->text);
    buf_done(&g->cells);
}

static size_t n_cells(const struct grid *g)
{
    return g->cells.n / sizeof(struct cell);
}

static struct cell cell_at(const struct grid *g, size_t i)
{
    struct cell cell;

    memcpy(&cell, g->cells.p + i * sizeof(cell), sizeof(cell));
    return cell;
}

void grid_cell(struct grid *g, struct str text, enum term_style style)
{
    size_t column = n_cells(g) % g->n_columns, from = g->text.n;

    visible_put(&g->text, text);
    struct cell cell = { .end = g->text.n,
                         .width = term_columns(buf_since(&g->text, from)),
                         .style = style };
    if (cell.width > g->widths[column])
        g->widths[column] = cell.width;
    buf_put(&g->cells, &cell, sizeof(cell));
}

struct grid_line {
    const struct term *term;
    struct buf *out;
    unsigned column; /* where we are */
    unsigned due;    /* where the next cell begins */
};

static void put_cell(struct grid_line *l,
                     struct str text,
                     unsigned width,
                     enum term_style style)
{
    unsigned edge = l->term->width;

    if (text.n == 0 || (edge > 0 && l->due >= edge))
        return;
    for (; l->column < l->due; l->column++)
        buf_char(l->out, ' ');
    bool cut = edge > 0 && l->column + width > edge;
    struct str shown = cut ? term_head(text, edge - l->column - 1) : text;
    if (style != STYLE_PLAIN)
        term_style(l->term, l->out, style);
    buf_str(l->out, shown);
    if (cut)
        buf_lit(l->out, "…");
    if (style != STYLE_PLAIN)
        term_style(l->term, l->out, STYLE_PLAIN);
    l->column += cut ? edge - l->column : width;
}

static void put_titles(const struct grid *g, const struct term *t, struct buf *out)
{
    struct grid_line l = { .term = t, .out = out };

    for (size_t i = 0; i < g->n_columns; i++) {
        struct str title = str_of(g->titles[i]);

        put_cell(&l, title, term_columns(title), STYLE_BOLD);
        l.due += g->widths[i] + GAP;
    }
    buf_char(out, '\n');
}

int grid_write(const struct grid *g, const struct term *t, struct buf *out)
{
    struct grid_line l = { .term = t, .out = out };
    size_t begin = 0;

    put_titles(g, t, out);
    for (size_t i = 0; i < n_cells(g); i++) {
        size_t column = i % g->n_columns;
        struct cell cell = cell_at(g, i);

        if (column == 0)
            l.column = l.due = 0;
        put_cell(&l, str_make(buf_text(&g->text).p + begin, cell.end - begin), cell.width,
                 cell.style);
        l.due += g->widths[column] + GAP;
        begin = cell.end;
        if (column + 1 == g->n_columns)
            buf_char(out, '\n');
    }
    return g->text.error != 0    ? g->text.error
           : g->cells.error != 0 ? g->cells.error
                                 : out->error;
}
