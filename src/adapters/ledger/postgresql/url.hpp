// The address of a PostgreSQL database, as an administrator writes it.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tessera {

// The same URL with each part as a percent-encoded parameter, and with a timeout for each parameter
// of a timeout that it does not set. libpq quotes parts of a URL that it cannot read in its errors,
// and these can be parts of a password. So a text that libpq may understand differently than its
// author is an invalid_argument error here, which does not quote it.
// (https://www.postgresql.org/docs/15/libpq-connect.html)
Result<std::string> read_postgresql_url(const std::string& text);

}  // namespace tessera
