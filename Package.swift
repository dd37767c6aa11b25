// swift-tools-version: 6.3
//
// The rules of this file: one MARK section for each target, targets from the bottom of the dependency
// graph to the top, one dependency a line. A target lists exactly the modules that it imports:
// SoundnessTests compares this file with the imports and with its table of permitted dependencies.

import PackageDescription

/// The settings of every Swift target: Swift 6, explicit imports, strict memory safety, and warnings
/// as errors.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

/// The settings of what draws the pictures of tests. Unoptimised, it would take longer than libvips
/// takes to decode them.
let optimized: [SwiftSetting] = settings + [.unsafeFlags(["-O"])]

let package = Package(
  name: "imgctl",
  products: [
    .library(name: "ImgClient", targets: ["ImgClient"]),
    .executable(name: "imgctl", targets: ["imgctl"]),
    .executable(name: "imgcoordinator", targets: ["imgcoordinator"]),
    .executable(name: "imgworker", targets: ["imgworker"]),
    .executable(name: "imgdecoder", targets: ["imgdecoder"]),
    .executable(name: "imggateway", targets: ["imggateway"]),
  ],
  targets: [
    // MARK: - C libraries: module maps and header-only shims

    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
    .systemLibrary(
      name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
    .systemLibrary(name: "CIDN2", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev"])]),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CDAV1D", pkgConfig: "dav1d", providers: [.apt(["libdav1d-dev"])]),
    .systemLibrary(name: "CDE265", pkgConfig: "libde265", providers: [.apt(["libde265-dev"])]),
    .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg-dev"])]),
    // Without pkgConfig: Swift Package Manager would warn of a flag that libjxl.pc asks for.
    .systemLibrary(name: "CJXL"),
    .systemLibrary(
      name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
    .systemLibrary(
      name: "CSeccomp", pkgConfig: "libseccomp", providers: [.apt(["libseccomp-dev"])]),
    .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CXML", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
    .systemLibrary(name: "CVips", pkgConfig: "vips", providers: [.apt(["libvips-dev"])]),

    // MARK: - CAllocation: allocation functions that record failures

    .target(name: "CAllocation"),

    // MARK: - CResample: loops over samples, for vector instructions

    .target(name: "CResample"),

    // MARK: - ImgSystem: the only raw system calls

    .target(name: "ImgSystem", dependencies: ["CLinux"], swiftSettings: settings),
    .testTarget(
      name: "ImgSystemTests",
      dependencies: [
        "ImgSystem",
        "TestFiles",
      ],
      swiftSettings: settings),

    // MARK: - ImgModel: the values of the domain; no I/O

    .target(name: "ImgModel", dependencies: ["CIDN2"], swiftSettings: settings),
    .testTarget(
      name: "ImgModelTests",
      dependencies: [
        "ImgModel",
        "SeededRandom",
      ], swiftSettings: settings),

    // MARK: - ImgSandbox: the rights that a process gives up

    .target(
      name: "ImgSandbox",
      dependencies: [
        "CLinux",
        "CSeccomp",
        "ImgModel",
        "ImgSystem",
      ],
      swiftSettings: settings),

    // MARK: - ImgWire: frames and messages, and the channels that carry them

    .target(
      name: "ImgWire",
      dependencies: [
        "ImgModel",
        "ImgSystem",
      ], swiftSettings: settings),
    .testTarget(
      name: "ImgWireTests",
      dependencies: [
        "ImgModel",
        "ImgSystem",
        "ImgWire",
        "SeededRandom",
      ],
      exclude: ["Golden"],
      swiftSettings: settings),

    // MARK: - TestFiles: temporary directories of tests

    .target(name: "TestFiles", path: "Tests/TestFiles", swiftSettings: settings),

    // MARK: - SeededRandom: random numbers for tests that a seed can replay

    .target(name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: settings),

    // MARK: - ImgSettings: flags, environment variables, units

    .target(
      name: "ImgSettings",
      dependencies: [
        "ImgCrypto",
        "ImgModel",
        "ImgSystem",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ImgSettingsTests",
      dependencies: [
        "ImgModel",
        "ImgSettings",
        "SeededRandom",
      ],
      swiftSettings: settings),

    // MARK: - ImgScheduler: pure scheduling

    .target(
      name: "ImgScheduler",
      dependencies: [
        "ImgModel",
        "ImgWire",
      ], swiftSettings: settings),
    .testTarget(
      name: "ImgSchedulerTests",
      dependencies: [
        "ClusterSimulation",
        "ImgModel",
        "ImgScheduler",
        "ImgWire",
        "SeededRandom",
      ],
      swiftSettings: settings),
    .target(
      name: "ClusterSimulation",
      dependencies: [
        "ImgModel",
        "ImgScheduler",
        "ImgWire",
        "SeededRandom",
        "WorkerSimulation",
      ],
      path: "Tests/ClusterSimulation",
      swiftSettings: settings),
    .executableTarget(
      name: "imgsimulate",
      dependencies: ["ClusterSimulation"],
      path: "Tests/SimulationTool",
      swiftSettings: settings),

    // MARK: - ImgCrypto: libsodium

    .target(name: "ImgCrypto", dependencies: ["CSodium"], swiftSettings: settings),
    .testTarget(name: "ImgCryptoTests", dependencies: ["ImgCrypto"], swiftSettings: settings),

    // MARK: - ImgStore: thumbnails and the job journal in LMDB

    .target(
      name: "ImgStore",
      dependencies: [
        "CLMDB",
        "CXXHash",
        "ImgCrypto",
        "ImgModel",
        "ImgSystem",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ImgStoreTests",
      dependencies: [
        "ImgModel",
        "ImgStore",
        "ImgSystem",
        "SeededRandom",
        "TestFiles",
      ],
      swiftSettings: settings),

    // MARK: - StoreCrashSupport: models, plans and child processes of the crash tests

    .target(
      name: "StoreCrashSupport",
      dependencies: [
        "ImgModel",
        "ImgStore",
        "SeededRandom",
      ],
      path: "Tests/StoreCrashSupport",
      swiftSettings: settings),
    .executableTarget(
      name: "imgcrashtest",
      dependencies: [
        "ImgSystem",
        "SeededRandom",
        "StoreCrashSupport",
      ],
      path: "Tests/CrashTestTool",
      swiftSettings: settings),

    // MARK: - ImgFacts: what a file tells of its picture without its pixels

    .target(
      name: "ImgFacts",
      dependencies: [
        "CZlib",
        "ImgModel",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ImgFactsTests",
      dependencies: [
        "ImgDecode",
        "ImgFacts",
        "ImgModel",
        "TestPictures",
      ],
      swiftSettings: settings),

    // MARK: - ImgFetch: libcurl, and zlib, brotli and zstd for encoded bodies

    .target(
      name: "ImgFetch",
      dependencies: [
        "CBrotli",
        "CCurl",
        "CZlib",
        "CZstd",
        "ImgFacts",
        "ImgModel",
        "ImgSystem",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ImgFetchTests",
      dependencies: [
        "CCurl",
        "CZstd",
        "ImgFacts",
        "ImgFetch",
        "ImgModel",
        "ImgSystem",
        "SeededRandom",
        "TestOrigin",
      ],
      swiftSettings: settings,
      // libcurl then calls the getaddrinfo of FakeResolver.swift.
      linkerSettings: [
        .unsafeFlags(["-Xlinker", "--export-dynamic-symbol=getaddrinfo"])
      ]),

    // MARK: - ImgDecode: libvips, libjpeg-turbo, libjxl, libdav1d, libde265, libpng, libwebp

    .target(
      name: "ImgDecode",
      dependencies: [
        "CDAV1D",
        "CDE265",
        "CJPEG",
        "CJXL",
        "CPNG",
        "CResample",
        "CVips",
        "CWebP",
        "CXML",
        "ImgFacts",
        "ImgModel",
        "ImgSandbox",
        "ImgSystem",
        "ImgWire",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ImgDecodeTests",
      dependencies: [
        "CResample",
        "CVips",
        "ImgDecode",
        "ImgFacts",
        "ImgModel",
        "ImgSystem",
        "SeededRandom",
        "TestFiles",
        "TestPictures",
      ],
      exclude: ["Colours/Samples"],
      swiftSettings: settings),

    // MARK: - ImgCoordinator: the process that schedules

    .target(
      name: "ImgCoordinator",
      dependencies: [
        "ImgModel",
        "ImgSandbox",
        "ImgScheduler",
        "ImgSettings",
        "ImgStore",
        "ImgSystem",
        "ImgWire",
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "imgcoordinator", dependencies: ["ImgCoordinator"], swiftSettings: settings),
    .testTarget(
      name: "ImgCoordinatorTests",
      dependencies: [
        "ImgCoordinator",
        "ImgModel",
        "ImgScheduler",
        "ImgSettings",
        "ImgStore",
        "ImgSystem",
        "ImgWire",
        "TestCluster",
        "TestFiles",
      ],
      swiftSettings: settings),

    // MARK: - ImgDecoder: the process that decodes

    .executableTarget(
      name: "imgdecoder",
      dependencies: [
        "CAllocation",
        "ImgDecode",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ImgDecoderTests",
      dependencies: [
        "CAllocation",
        "ImgFacts",
        "ImgModel",
        "ImgSystem",
        "ImgWire",
        "TestCluster",
        "TestPictures",
      ],
      swiftSettings: settings),

    // MARK: - ImgWorkerMachine: what a worker does with its leases; pure

    .target(
      name: "ImgWorkerMachine",
      dependencies: [
        "ImgModel",
        "ImgWire",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ImgWorkerMachineTests",
      dependencies: [
        "ImgModel",
        "ImgWire",
        "ImgWorkerMachine",
        "SeededRandom",
        "WorkerSimulation",
      ],
      swiftSettings: settings),
    .target(
      name: "WorkerSimulation",
      dependencies: [
        "ImgModel",
        "ImgWire",
        "ImgWorkerMachine",
        "SeededRandom",
      ],
      path: "Tests/WorkerSimulation",
      swiftSettings: settings),

    // MARK: - ImgWorker: the process that fetches and stores

    .target(
      name: "ImgWorker",
      dependencies: [
        "ImgFacts",
        "ImgFetch",
        "ImgModel",
        "ImgSandbox",
        "ImgStore",
        "ImgSystem",
        "ImgWire",
        "ImgWorkerMachine",
      ],
      swiftSettings: settings),
    .executableTarget(name: "imgworker", dependencies: ["ImgWorker"], swiftSettings: settings),
    .testTarget(
      name: "ImgWorkerTests",
      dependencies: [
        "ImgDecode",
        "ImgFacts",
        "ImgFetch",
        "ImgModel",
        "ImgStore",
        "ImgSystem",
        "ImgWire",
        "ImgWorker",
        "ImgWorkerMachine",
        "TestCluster",
        "TestFiles",
        "TestOrigin",
        "TestPictures",
      ],
      swiftSettings: settings),

    // MARK: - ImgClient: the library

    .target(
      name: "ImgClient",
      dependencies: [
        "ImgFacts",
        "ImgModel",
        "ImgSettings",
        "ImgStore",
        "ImgSystem",
        "ImgWire",
      ],
      exclude: ["ImgClient.api"],
      swiftSettings: settings),
    .testTarget(
      name: "ImgClientTests",
      dependencies: [
        "CCurl",
        "ImgClient",
        "ImgModel",
        "ImgSettings",
        "ImgStore",
        "ImgSystem",
        "ImgWire",
        "SeededRandom",
        "TestCluster",
        "TestFiles",
        "TestOrigin",
        "TestPictures",
      ],
      swiftSettings: settings),

    // MARK: - ImgCommands: the command line as a library

    .target(
      name: "ImgCommands",
      dependencies: [
        "ImgClient",
        "ImgCrypto",
        "ImgFacts",
        "ImgModel",
        "ImgSettings",
        "ImgSystem",
      ],
      swiftSettings: settings),
    .executableTarget(name: "imgctl", dependencies: ["ImgCommands"], swiftSettings: settings),
    .testTarget(
      name: "ImgCommandsTests",
      dependencies: [
        "ImgClient",
        "ImgCommands",
        "ImgModel",
        "ImgSettings",
        "ImgStore",
        "ImgSystem",
        "ImgWire",
        "TestCluster",
        "TestFiles",
      ],
      exclude: ["Golden"],
      swiftSettings: settings),

    // MARK: - ImgHTTP: libmicrohttpd

    .target(
      name: "ImgHTTP",
      dependencies: [
        "CLinux",
        "CMicroHTTPD",
        "ImgSystem",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ImgHTTPTests",
      dependencies: [
        "ImgHTTP",
        "ImgSystem",
        "TestFiles",
        "TestHTTP",
      ],
      swiftSettings: settings),

    // MARK: - ImgGateway: thumbnails over HTTP

    .target(
      name: "ImgGateway",
      dependencies: [
        "ImgClient",
        "ImgCrypto",
        "ImgFacts",
        "ImgHTTP",
        "ImgModel",
        "ImgSandbox",
        "ImgSettings",
        "ImgSystem",
      ],
      resources: [.embedInCode("Gallery/Assets")],
      swiftSettings: settings),
    .executableTarget(name: "imggateway", dependencies: ["ImgGateway"], swiftSettings: settings),
    .testTarget(
      name: "ImgGatewayTests",
      dependencies: [
        "ImgClient",
        "ImgGateway",
        "ImgHTTP",
        "ImgModel",
        "ImgSettings",
        "ImgSystem",
        "TestFiles",
      ],
      swiftSettings: settings),

    // MARK: - Test support

    .target(
      name: "TestHTTP",
      dependencies: [
        "ImgHTTP",
        "ImgSystem",
      ],
      path: "Tests/TestHTTP",
      swiftSettings: settings),
    .target(
      name: "TestOrigin",
      dependencies: ["CMicroHTTPD"],
      path: "Tests/TestOrigin",
      swiftSettings: settings),
    .testTarget(
      name: "TestOriginTests", dependencies: ["TestOrigin"], swiftSettings: settings),
    .target(
      name: "TestPictures",
      dependencies: [
        "CJPEG",
        "CJXL",
        "CVips",
        "CZlib",
        "ImgDecode",
        "ImgFacts",
        "ImgModel",
      ],
      path: "Tests/TestPictures",
      swiftSettings: optimized),
    .executableTarget(
      name: "testorigin",
      dependencies: [
        "ImgModel",
        "TestOrigin",
        "TestPictures",
      ],
      path: "Tests/TestOriginTool",
      swiftSettings: settings),

    .systemLibrary(name: "CSandboxAttempts", path: "Tests/CSandboxAttempts"),
    .executableTarget(
      name: "imgsandboxtest",
      dependencies: [
        "CSandboxAttempts",
        "CSeccomp",
        "ImgDecode",
        "ImgModel",
        "ImgSandbox",
        "ImgSystem",
      ],
      path: "Tests/SandboxTestTool",
      swiftSettings: settings),
    .testTarget(
      name: "ImgSandboxTests",
      dependencies: [
        "CLinux",
        "ImgSandbox",
        "ImgSystem",
        "TestFiles",
        "TestPictures",
      ],
      swiftSettings: settings),

    .target(name: "CAllocationCount", path: "Tests/CAllocationCount"),
    .executableTarget(
      name: "imgbench",
      dependencies: [
        "CAllocationCount",
        "CLMDB",
        "ImgClient",
        "ImgCommands",
        "ImgDecode",
        "ImgFetch",
        "ImgHTTP",
        "ImgModel",
        "ImgStore",
        "ImgSystem",
        "ImgWire",
        "SeededRandom",
        "TestPictures",
      ],
      path: "Tests/Benchmarks",
      swiftSettings: settings),

    .target(
      name: "TestCluster",
      dependencies: [
        "CLinux",
        "ImgClient",
        "ImgModel",
        "ImgSystem",
        "ImgWire",
        "TestFiles",
      ],
      path: "Tests/TestCluster",
      swiftSettings: settings),

    // MARK: - StoreCrashTests: the store under kills, failing calls, full disks, many threads

    .testTarget(
      name: "StoreCrashTests",
      dependencies: [
        "CLMDB",
        "ImgStore",
        "ImgSystem",
        "SeededRandom",
        "StoreCrashSupport",
        "TestCluster",
        "TestFiles",
      ],
      swiftSettings: settings,
      // LMDB then calls the functions of Calls/InterposedSystem.swift.
      linkerSettings: [
        .unsafeFlags(
          ["pwrite", "writev", "pread", "fdatasync", "ftruncate", "mmap"]
            .flatMap { ["-Xlinker", "--export-dynamic-symbol=\($0)"] })
      ]),

    // MARK: - ClusterTests: the real processes

    .testTarget(
      name: "ClusterTests",
      dependencies: [
        "ImgClient",
        "ImgDecode",
        "ImgFacts",
        "ImgModel",
        "ImgStore",
        "ImgSystem",
        "ImgWire",
        "SeededRandom",
        "TestCluster",
        "TestFiles",
        "TestOrigin",
        "TestPictures",
      ],
      swiftSettings: settings),

    // MARK: - GatewayTests: the gateway as a process, over real sockets

    .testTarget(
      name: "GatewayTests",
      dependencies: [
        "ImgClient",
        "ImgCrypto",
        "ImgHTTP",
        "ImgModel",
        "ImgSystem",
        "TestCluster",
        "TestFiles",
        "TestHTTP",
        "TestOrigin",
        "TestPictures",
      ],
      swiftSettings: settings),

    // MARK: - GatewayBrowserTests: the gallery in a browser

    .testTarget(
      name: "GatewayBrowserTests",
      dependencies: [
        "ImgClient",
        "ImgGateway",
        "ImgHTTP",
        "ImgSettings",
        "ImgSystem",
        "TestFiles",
      ],
      swiftSettings: settings),

    // MARK: - ComparisonTests: pictures and metadata as FFmpeg and ExifTool see them

    .testTarget(
      name: "ComparisonTests",
      dependencies: [
        "ImgDecode",
        "ImgFacts",
        "ImgModel",
        "ImgSystem",
        "TestCluster",
        "TestFiles",
        "TestPictures",
      ],
      swiftSettings: settings),

    // MARK: - FuzzTests: parsers of bytes from outside

    .systemLibrary(name: "CFuzzer", path: "Tests/CFuzzer"),
    .testTarget(
      name: "FuzzTests",
      dependencies: [
        "CFuzzer",
        "ImgClient",
        "ImgCommands",
        "ImgDecode",
        "ImgFacts",
        "ImgFetch",
        "ImgGateway",
        "ImgModel",
        "ImgWire",
        "SeededRandom",
      ],
      path: "Tests/FuzzTests",
      swiftSettings: settings),

    // MARK: - APIComparison: the public declarations of a library, and what changes break programs

    .target(name: "APIComparison", path: "Tests/APIComparison", swiftSettings: settings),
    .executableTarget(
      name: "imgapi",
      dependencies: ["APIComparison"],
      path: "Tests/APITool",
      swiftSettings: settings),

    // MARK: - SoundnessTests: the repository as text and as programs

    .testTarget(
      name: "SoundnessTests", dependencies: ["APIComparison"], swiftSettings: settings),
  ]
)

// `scripts/test --fuzz` builds the files of FuzzTests as a program around libFuzzer.
if Context.environment["IMGCTL_FUZZ"] != nil,
  let index = package.targets.firstIndex(where: { $0.name == "FuzzTests" })
{
  let tests = package.targets.remove(at: index)
  let program = "imgfuzz"
  package.targets.append(
    .executableTarget(
      name: program, dependencies: tests.dependencies, path: tests.path,
      swiftSettings: settings + [.define("FUZZING"), .unsafeFlags(["-parse-as-library"])]))
}
