import ImgModel
import TestCluster
import TestOrigin
import Testing

/// A store whose pages are damaged in a way that ends the processes that read them.
@Suite(.timeLimit(.minutes(20)))
struct StoreDamageTests {
  private let origin: ListOrigin
  private let cluster: Cluster

  /// Enough for branch pages in every table.
  private static let pictureCount = 120

  init() throws {
    origin = try ListOrigin()
    cluster = try Cluster()
  }

  /// Fills the store, and damages it while nothing runs.
  private func damageStore(_ damage: PageDamage) throws -> [String] {
    let list = origin.pictures(Self.pictureCount)
    try #require(try cluster.run(list).done == Self.pictureCount)
    try #require(try cluster.imgctl("stop").exitCode == 0)
    try #require(try cluster.runningCoordinator().wait().exitCode == 0)
    try damage.apply(toStoreIn: cluster.storeDirectory)
    return list
  }

  @Test(arguments: PageDamage.allCases)
  func `a damaged store is recreated, and no picture is the suspect`(damage: PageDamage) throws {
    let list = try damageStore(damage)
    try cluster.start()
    let status = try cluster.run(Array(list.prefix(60)))
    #expect(status.done == 60)
    let failures = try cluster.imgctl("failures", "\(status.job)").output
    #expect(failures.isEmpty)
    // Whatever crash there was, the store works again.
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
    #expect(try cluster.run(Array(list.prefix(60))).fromCache == 60)
  }

  @Test(arguments: PageDamage.allCases)
  func `verify reports a damaged store with a remedy`(damage: PageDamage) throws {
    // Without workers, which would replace the store as soon as they read it.
    _ = try damageStore(damage)
    let result = try cluster.imgctl("cache", "verify")
    #expect(result.exitCode == 2)
    #expect(result.messages.contains("the store in \(cluster.storeDirectory) is damaged"))
    #expect(result.messages.contains("remove"))
  }

  @Test(arguments: PageDamage.allCases)
  func `a reset removes a damaged store`(damage: PageDamage) throws {
    let list = try damageStore(damage)
    try cluster.start()
    let result = try cluster.imgctl("cache", "reset")
    #expect(result.exitCode == 0, "\(result.messages)")
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
    #expect(try cluster.imgctl("get", list[0]).exitCode == 0)
  }

  @Test(arguments: PageDamage.allCases)
  func `a get returns its thumbnail although the store is damaged`(damage: PageDamage) throws {
    let list = try damageStore(damage)
    try cluster.start()
    let result = try cluster.imgctl("get", list[0])
    #expect(result.exitCode == 0, "\(result.messages)")
    #expect(!result.outputBytes.isEmpty)
  }
}
