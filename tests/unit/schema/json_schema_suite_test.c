/* The files of the JSON Schema Test Suite that apply (tests/unit/json_schema_suite says where
 * they come from): every schema is either used, and then every value must be judged right, or
 * it is in the list below, with the keyword that makes it unusable.
 *
 *     json_schema_suite_test FOLDER */
#include "schema/json_schema.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

/* By the beginning of "file: description", and what the refusal names. */
static const struct {
    const char *group, *word;
} refused[] = {
    { "anchor.json: Location-independent identifier with absolute URI", "$ref" },
    { "anchor.json: Location-independent identifier with base URI change in subschema",
      "$ref" },
    { "anchor.json: same $anchor with different base uri", "$id" },
    { "defs.json: validate definition against metaschema", "$ref" },
    { "not.json: collect annotations inside a 'not', even if collection is disabled",
      "unevaluatedProperties" },
    { "ref.json: $id must be resolved against nearest parent, not just immediate parent",
      "$id" },
    { "ref.json: Recursive references between schemas", "$ref" },
    { "ref.json: URN ref with nested pointer ref", "$ref" },
    { "ref.json: order of evaluation: $id and $anchor and $ref", "$id" },
    { "ref.json: order of evaluation: $id and $ref", "$ref" },
    { "ref.json: order of evaluation: $id and $ref on nested schema", "$ref" },
    { "ref.json: ref creates new scope when adjacent to keywords", "unevaluatedProperties" },
    { "ref.json: ref to else", "$ref" },
    { "ref.json: ref to if", "$ref" },
    { "ref.json: ref to then", "$ref" },
    { "ref.json: ref with absolute-path-reference", "$id" },
    { "ref.json: refs with relative uris and defs", "$id" },
    { "ref.json: relative refs with absolute uris and defs", "$id" },
    { "ref.json: remote ref, containing refs itself", "$ref" },
};

struct suite {
    char file[400];
    int passed, failed;
    size_t n_refused;
};

static void tell(struct suite *s, const char *group, const char *test, const char *why)
{
    (void)printf("not ok %s: %s: %s: %s\n", s->file, group, test, why);
    s->failed++;
}

static const char *expected_refusal(const char *file, const char *group)
{
    char name[600];

    (void)snprintf(name, sizeof(name), "%s: %s", file, group);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (strcmp(name, refused[i].group) == 0)
            return refused[i].word;
    return NULL;
}

static void run_test(struct suite *s, const char *group, struct str schema, yyjson_val *test)
{
    size_t n = 0;
    char *data = yyjson_val_write(yyjson_obj_get(test, "data"), 0, &n);
    struct json_schema_problem problem;
    bool fits = json_schema_check(schema, str_make(data, n), &problem);

    if (fits == yyjson_get_bool(yyjson_obj_get(test, "valid")))
        s->passed++;
    else
        tell(s, group, yyjson_get_str(yyjson_obj_get(test, "description")),
             fits ? "it must not fit" : problem.text);
    free(data);
}

static void run_group(struct suite *s, yyjson_val *group)
{
    const char *name = yyjson_get_str(yyjson_obj_get(group, "description"));
    const char *word = expected_refusal(s->file, name);
    struct json_schema_problem problem;
    yyjson_val *test;
    size_t n = 0, i, max;
    char *text = yyjson_val_write(yyjson_obj_get(group, "schema"), 0, &n);
    struct str schema = str_make(text, n);
    bool usable = json_schema_usable(schema, &problem);

    if (!usable && word != NULL && strstr(problem.text, word) != NULL) {
        s->n_refused++;
    } else if (!usable || word != NULL) {
        tell(s, name, "usable", usable ? "it must be refused" : problem.text);
    } else {
        yyjson_arr_foreach(yyjson_obj_get(group, "tests"), i, max, test)
            run_test(s, name, schema, test);
    }
    free(text);
}

static void run_file(struct suite *s, const char *folder, const char *file)
{
    char path[800];
    yyjson_val *group;
    size_t i, max;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, file);
    (void)snprintf(s->file, sizeof(s->file), "%s", file);
    yyjson_doc *doc = yyjson_read_file(path, 0, NULL, NULL);
    if (doc == NULL)
        tell(s, path, "file", "cannot be read");
    yyjson_arr_foreach(yyjson_doc_get_root(doc), i, max, group) run_group(s, group);
    yyjson_doc_free(doc);
}

static void run_folder(struct suite *s, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    if (dir == NULL)
        tell(s, folder, "folder", "cannot be read");
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (strstr(entry->d_name, ".json") != NULL)
            run_file(s, folder, entry->d_name);
    if (dir != NULL)
        (void)closedir(dir);
}

int main(int argc, char **argv)
{
    struct suite s = { .passed = 0 };
    char optional[600];

    if (argc != 2)
        return 2;
    run_folder(&s, argv[1]);
    (void)snprintf(optional, sizeof(optional), "%s/optional", argv[1]);
    run_folder(&s, optional);
    if (s.n_refused != sizeof(refused) / sizeof(refused[0]))
        tell(&s, "all", "refused", "the list of refused schemas does not fit the files");
    (void)printf("%sok 1 - %d values judged as the suite wants, %zu schemas refused\n1..1\n",
                 s.failed > 0 ? "not " : "", s.passed, s.n_refused);
    return s.failed > 0;
}
