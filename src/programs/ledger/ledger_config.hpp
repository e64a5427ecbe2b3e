// The ledger's configuration, and what its components take from it.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <variant>

#include "programs/common/config.hpp"
#include "programs/common/run_program.hpp"
#include "programs/service/http_routes.hpp"
#include "programs/service/service_port.hpp"

namespace tessera {

#define CONFIG_TABLE "programs/ledger/ledger.def"
#include "programs/common/typed_config.inc"
#undef CONFIG_TABLE

// The first fault, with the name of its row and the fix.
Result<> check_config(const ConfigValues& values);

// Errors are invalid_argument, and name the row.
Result<ServicePortOptions> service_port_of(const Config& config);
HealthPort health_port_of(const Config& config);

struct PostgresqlUrl {
    std::string text;  // has a password: never logged
};
using DatabaseAddress = std::variant<std::filesystem::path, PostgresqlUrl>;

// Reads database_url_file. Errors name the row, and never have the URL.
Result<DatabaseAddress> database_of(const Config& config);

}  // namespace tessera
