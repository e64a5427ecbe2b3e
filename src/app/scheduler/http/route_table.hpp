// Every route of the controller and its access requirement. Routing and access both read this list.
#pragma once

#include <array>
#include <string_view>

namespace tessera {

enum class AuthRequirement {
    nothing,
    certificate,  // a client certificate, signed by the client CA: kube-scheduler can present
                  // nothing else
    admission,    // nothing, on the port of the Service; elsewhere it is not served
    front_proxy,  // the certificate of the API server's aggregation layer, on the port of the
                  // Service; elsewhere it is not served
    token,        // a token of a cluster user that may get the route's path
};

enum class Route {
#define ROUTE(name, method, path, extent, need, meaning) name,
#include "app/scheduler/http/routes.def"
#undef ROUTE
};

enum class RouteExtent { exact, subtree };

struct RouteRow {
    Route route;
    std::string_view method;
    std::string_view path;
    RouteExtent extent;
    AuthRequirement need;
};

inline constexpr auto kRoutes = std::to_array<RouteRow>({
#define ROUTE(name, method, path, extent, need, meaning) \
    {Route::name, method, path, RouteExtent::extent, AuthRequirement::need},
#include "app/scheduler/http/routes.def"
#undef ROUTE
});

std::string_view path_of(Route route);

// The row of a path, whatever the method; null if there is none.
const RouteRow* find_route(std::string_view path);

// The path without its last slash, if that makes it the path of a route; otherwise unchanged.
std::string_view without_slash(std::string_view path);

// The requirement of a request, also if it matches no route: then a certificate, so that the body
// of an unauthenticated request is not read.
AuthRequirement requirement_of(std::string_view method, std::string_view path);

}  // namespace tessera
