#include "config/file/unknown.h"

#include "config/options/options.h"
#include "config/file/settings.h"
#include "config/options/suggest.h"
#include "config/file/walk.h"

int unknown_key(struct walk *w)
{
    struct suggestion suggestion = suggest_for(walk_scalar(w));

    suggest_try(&suggestion, "agents");
    options_suggest(&server_options, STR(""), &suggestion);
    return walk_unknown(w, "key", suggestion.nearest);
}

int unknown_in_group(struct walk *w, struct str group)
{
    struct suggestion suggestion = suggest_for(walk_scalar(w));

    options_suggest(&agent_options, group, &suggestion);
    return walk_unknown(w, "setting", suggestion.nearest);
}

int unknown_setting(struct walk *w)
{
    struct suggestion suggestion = suggest_for(walk_scalar(w));

    settings_suggest(&suggestion);
    options_suggest(&agent_options, STR(""), &suggestion);
    suggest_try(&suggestion, "pool");
    return walk_unknown(w, "setting", suggestion.nearest);
}
