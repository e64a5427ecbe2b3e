// The output of `tessera migrate gpushare --plan`.
#pragma once

#include <string>

#include "app/cli/migrate.hpp"

namespace tessera {

// For each node what runs there and the steps, then what hinders the migration.
std::string migration_text(const MigrateRequest& request, const MigrationPlan& plan);

}  // namespace tessera
