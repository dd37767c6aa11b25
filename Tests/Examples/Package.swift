// swift-tools-version: 6.3
//
// Programs that use the library as another package does. scripts/test builds and runs them.

import PackageDescription

let package = Package(
  name: "examples",
  dependencies: [.package(name: "imgctl", path: "../..")],
  targets: [
    .executableTarget(
      name: "one-picture", dependencies: [.product(name: "ImgClient", package: "imgctl")]),
    .executableTarget(
      name: "observed-picture", dependencies: [.product(name: "ImgClient", package: "imgctl")]),
    .executableTarget(
      name: "list-progress", dependencies: [.product(name: "ImgClient", package: "imgctl")]),
    .executableTarget(
      name: "list-job", dependencies: [.product(name: "ImgClient", package: "imgctl")]),
    .executableTarget(
      name: "app-network", dependencies: [.product(name: "ImgClient", package: "imgctl")]),
    .executableTarget(
      name: "terminal-gallery", dependencies: [.product(name: "ImgClient", package: "imgctl")]),
  ])
