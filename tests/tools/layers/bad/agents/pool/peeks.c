#include "agents/process/child.h"
#include "agents/arq/arq.h"
#include "agents/task.h"
