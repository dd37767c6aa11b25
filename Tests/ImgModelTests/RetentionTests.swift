import ImgModel
import Testing

/// The union of what several requests ask for.
@Suite struct RetentionTests {
  private let date = WallTime(rawValue: 1_800_000_000_000)

  private func expiry(
    _ retention: Retention, storedAt: WallTime = WallTime(rawValue: 1_000)
  ) -> Int64 {
    retention.expiresAt(storedAt: storedAt).rawValue
  }

  @Test func `a duration starts at the download, a date does not`() {
    #expect(expiry(Retention(afterMilliseconds: 500)) == 1_500)
    #expect(expiry(Retention(until: date)) == date.rawValue)
    #expect(expiry(Retention(afterMilliseconds: 500, until: date)) == date.rawValue)
    let late = date.advanced(byMilliseconds: 1)
    #expect(
      expiry(Retention(afterMilliseconds: 500, until: date), storedAt: late) == 500 + late.rawValue)
    #expect(expiry(Retention(until: date), storedAt: late) == date.rawValue, "a date in the past")
    #expect(expiry(Retention()) == 1_000)
  }

  @Test func `the longest retention of each kind wins in any order`() {
    let retentions = [
      Retention(afterMilliseconds: 5), Retention(until: date), Retention(slidingMilliseconds: 7),
      Retention(afterMilliseconds: 9, slidingMilliseconds: 3),
      Retention(until: date.advanced(byMilliseconds: -1)), Retention(),
    ]
    let all = Retention(afterMilliseconds: 9, until: date, slidingMilliseconds: 7)
    for order in [retentions, retentions.reversed()] {
      #expect(order.reduce(into: Retention()) { $0.formUnion($1) } == all)
    }
    #expect(retentions.allSatisfy { all.covers($0) })
    #expect(retentions.allSatisfy { !$0.covers(all) })
  }

  @Test func `the default applies to new thumbnails and not to stored ones`() {
    let standard = Expiry.standard
    #expect(standard.retention(defaultMilliseconds: 5) == Retention(afterMilliseconds: 5))
    #expect(standard.retentionOfStored(defaultMilliseconds: 5) == Retention())
    let sliding = Expiry(.standard, isSliding: true)
    #expect(
      sliding.retention(defaultMilliseconds: 5)
        == Retention(afterMilliseconds: 5, slidingMilliseconds: 5))
    #expect(
      sliding.retentionOfStored(defaultMilliseconds: 5) == Retention(slidingMilliseconds: 5))
    for named in [
      Expiry(.after(milliseconds: 8)), Expiry(.after(milliseconds: 8), isSliding: true),
      Expiry(.at(date)),
    ] {
      #expect(
        named.retention(defaultMilliseconds: 5) == named.retentionOfStored(defaultMilliseconds: 6))
    }
  }
}
