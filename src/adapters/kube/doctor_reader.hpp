// Reads what `tessera doctor` judges. Changes nothing.
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "domain/doctor/facts.hpp"

namespace tessera {

struct DoctorReaderOptions {
    std::string space = "tessera-system";
    std::string own_version;
};

// Takes up to four seconds: the Lease is looked at twice. More where an agent does not answer.
doctor::Facts read_doctor_facts(const HttpEndpoint& endpoint, const DoctorReaderOptions& options);

}  // namespace tessera
