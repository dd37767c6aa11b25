// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "pictures",
  dependencies: [.package(path: "../imgctl")],
  targets: [
    .executableTarget(
      name: "pictures", dependencies: [.product(name: "ImgClient", package: "imgctl")])
  ])
