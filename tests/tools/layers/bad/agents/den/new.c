#include "agents/task.h"
