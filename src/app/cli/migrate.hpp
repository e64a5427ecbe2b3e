// tessera migrate gpushare: moves nodes from gpushare's device plugin to Tessera's agent, one after
// the other, and back. Running pods continue.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "domain/migration/hindrances.hpp"
#include "ports/clock.hpp"
#include "ports/kube/migration_cluster.hpp"

namespace tessera {

struct MigrateRequest {
    migration::Direction direction = migration::Direction::to_tessera;
    std::vector<std::string> nodes = {};  // empty: all that it concerns
    // How long a node may wait for the same thing.
    std::chrono::seconds timeout{120};
};

struct MigrationPlan {
    migration::Facts facts;
    std::vector<migration::Node> nodes;  // in the order of their migration
    std::vector<migration::Hindrance> hindrances;

    [[nodiscard]] bool is_blocked() const;
};

// Changes nothing. Errors: not_found for a node that does not exist, invalid_argument for one that
// neither program serves; those of the port.
Result<MigrationPlan> plan_migration(MigrationCluster& cluster, const MigrateRequest& request);

// Calls `print` with a line for each step. Can be stopped at any moment, and repeated. A node that
// does not become ready in time is put back to gpushare, and no other node is touched. Errors:
// conflict if something blocks the migration or a node was put back; those of the port.
Result<> apply_migration(MigrationCluster& cluster, Clock& clock, const MigrateRequest& request,
                         const std::function<void(const std::string&)>& print);

}  // namespace tessera
