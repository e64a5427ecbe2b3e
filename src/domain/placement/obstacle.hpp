// The classes of the reasons for which a node refuses a pod: what can be counted, where the reason
// itself is for a person.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tessera {

enum class Obstacle {
#define OBSTACLE(name, meaning) name,
#include "domain/placement/obstacles.def"
#undef OBSTACLE
};

struct ObstacleRow {
    Obstacle obstacle;
    std::string_view name;
    std::string_view meaning;
};

inline constexpr auto kObstacles = std::to_array<ObstacleRow>({
#define OBSTACLE(name, meaning) {Obstacle::name, #name, meaning},
#include "domain/placement/obstacles.def"
#undef OBSTACLE
});

}  // namespace tessera
