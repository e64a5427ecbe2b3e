#include "app/scheduler/http/route_table.hpp"

#include <algorithm>

namespace tessera {

std::string_view path_of(Route route) {
    return std::ranges::find(kRoutes, route, &RouteRow::route)->path;
}

const RouteRow* find_route(std::string_view path) {
    const auto* const row = std::ranges::find_if(kRoutes, [path](const RouteRow& route) {
        if (path == route.path) return true;
        return route.extent == RouteExtent::subtree && path.starts_with(route.path) &&
               path[route.path.size()] == '/';
    });
    return row == kRoutes.end() ? nullptr : row;
}

std::string_view without_slash(std::string_view path) {
    if (!path.ends_with('/')) return path;
    const std::string_view shorter = path.substr(0, path.size() - 1);
    return find_route(shorter) == nullptr ? path : shorter;
}

AuthRequirement requirement_of(std::string_view method, std::string_view path) {
    const RouteRow* const row = find_route(without_slash(path));
    return row != nullptr && row->method == method ? row->need : AuthRequirement::certificate;
}

}  // namespace tessera
