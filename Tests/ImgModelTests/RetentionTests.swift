import ImgModel
import Testing

/// How long a thumbnail is kept for all who ask for it.
@Suite struct RetentionTests {
  private let date = WallTime(rawValue: 1_800_000_000_000)

  private func expiry(
    _ retention: Retention, storedAt: WallTime = WallTime(rawValue: 1_000)
  ) -> Int64 {
    retention.expiresAt(storedAt: storedAt).rawValue
  }

  @Test func `a duration counts from the download, a date does not`() {
    #expect(expiry(Retention(afterMilliseconds: 500)) == 1_500)
    #expect(expiry(Retention(until: date)) == date.rawValue)
    #expect(expiry(Retention(afterMilliseconds: 500, until: date)) == date.rawValue)
    let late = date.advanced(byMilliseconds: 1)
    #expect(
      expiry(Retention(afterMilliseconds: 500, until: date), storedAt: late) == 500 + late.rawValue)
    #expect(expiry(Retention(until: date), storedAt: late) == date.rawValue, "it has passed")
    #expect(expiry(Retention()) == 1_000)
  }

  @Test func `of each kind the longest counts, in whatever order they come`() {
    let wishes = [
      Retention(afterMilliseconds: 5), Retention(until: date), Retention(slidingMilliseconds: 7),
      Retention(afterMilliseconds: 9, slidingMilliseconds: 3),
      Retention(until: date.advanced(byMilliseconds: -1)), Retention(),
    ]
    let all = Retention(afterMilliseconds: 9, until: date, slidingMilliseconds: 7)
    for order in [wishes, wishes.reversed()] {
      #expect(order.reduce(into: Retention()) { $0.formUnion($1) } == all)
    }
    #expect(wishes.allSatisfy { all.covers($0) })
    #expect(wishes.allSatisfy { !$0.covers(all) })
  }

  @Test func `the default is for what is made, not for what is there`() {
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
