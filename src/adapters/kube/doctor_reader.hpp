// Reads what `tessera doctor` checks. Changes nothing.
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "domain/doctor/facts.hpp"

namespace tessera {

struct DoctorReaderOptions {
    std::string ns = "tessera-system";
    std::string own_version;
};

// Takes up to four seconds, because it reads the Lease twice; longer if an agent does not answer.
doctor::Facts read_doctor_facts(HttpClient& http, const DoctorReaderOptions& options);

}  // namespace tessera
