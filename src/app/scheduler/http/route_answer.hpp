// What a route of the controller answers.
#pragma once

#include <string>

namespace tessera {

struct RouteAnswer {
    int status = 200;
    std::string body;
    std::string content_type = "application/json";
    std::string location;
    std::string allow;
    std::string authenticate;
    bool failed = false;  // counted as an error of the verb, whatever the status
};

}  // namespace tessera
