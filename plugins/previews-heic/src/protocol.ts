/** Tells the sandbox how to decode a picture. */
export interface PictureOrder {
  /** The side that the longer side of the pixels needs. */
  readonly longestSide: number
  /** Most pixels of a picture. */
  readonly maxPixels: number
}

/**
 * The answer of the sandbox. The first part is the pixels, the second one the Exif data, if there are any. A picture that needs too much
 * memory has no parts.
 */
export type PictureAnswer = DecodedSizes | 'too-large'

/** The sizes of a picture that was decoded. */
export interface DecodedSizes {
  readonly width: number
  readonly height: number
  /** Size of the pixels. */
  readonly scaled: { readonly width: number; readonly height: number }
}
