/** Tells the sandbox how to decode a picture. */
export interface PictureOrder {
  /** The side that the longer side of the pixels needs. */
  readonly longestSide: number
  /** Most pixels of a picture. */
  readonly maxPixels: number
}

/** The answer of the sandbox. The first part is the pixels, the second one the Exif data, if there are any. */
export interface PictureAnswer {
  readonly width: number
  readonly height: number
  /** Size of the pixels. */
  readonly scaled: { readonly width: number; readonly height: number }
}
