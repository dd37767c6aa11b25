import ImgModel

/// Which worker a URL belongs to: the one whose weight for it is the highest (highest random
/// weight, Thaler and Ravishankar 1998). A worker that comes or goes moves only its own share of
/// the URLs.
enum RendezvousHash {
  /// A 64-bit digest of the URL (FNV-1a), computed once a URL.
  static func digest(_ url: String) -> UInt64 {
    url.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }

  /// How strongly the URL with this digest belongs to the worker of this number.
  static func weight(digest: UInt64, number: Int) -> UInt64 {
    SplitMix64.mix(digest ^ SplitMix64.mix(UInt64(number) &+ 0x9E37_79B9_7F4A_7C15))
  }
}
