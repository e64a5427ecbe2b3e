// Every route of the controller, and who is let in to it. The one list: routing and access read it.
#pragma once

#include <array>
#include <string_view>

namespace tessera {

enum class Need {
    nothing,
    certificate,  // of a client, signed by the client CA: kube-scheduler can show nothing else
    token,        // of a user of the cluster who may get the route's path
};

enum class Route { filter, prioritize, preempt, bind, inspect, metrics, version, healthz, readyz };

struct RouteRow {
    Route route;
    std::string_view method;
    std::string_view path;
    bool below;  // paths below it, too
    Need need;
};

inline constexpr auto kRoutes = std::to_array<RouteRow>({
    {Route::filter, "POST", "/gpushare-scheduler/filter", false, Need::certificate},
    {Route::prioritize, "POST", "/gpushare-scheduler/prioritize", false, Need::certificate},
    {Route::preempt, "POST", "/gpushare-scheduler/preempt", false, Need::certificate},
    {Route::bind, "POST", "/gpushare-scheduler/bind", false, Need::certificate},
    {Route::inspect, "GET", "/gpushare-scheduler/inspect", true, Need::token},
    {Route::metrics, "GET", "/metrics", false, Need::token},
    {Route::version, "GET", "/version", false, Need::nothing},
    {Route::healthz, "GET", "/healthz", false, Need::nothing},
    {Route::readyz, "GET", "/readyz", false, Need::nothing},
});

std::string_view path_of(Route route);

// The row of a path, whatever the method; null: there is none.
const RouteRow* find_route(std::string_view path);

// The path without the slash at its end, where that makes it one of a route; else as it is.
std::string_view without_slash(std::string_view path);

// What a request needs that is no route as well: a certificate, so that a stranger's body is
// not read.
Need need_of(std::string_view method, std::string_view path);

}  // namespace tessera
