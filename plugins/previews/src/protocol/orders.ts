/** Tells the sandbox how to make previews of a content. */
export interface PreviewOrder {
  /** Longest sides of the previews, in pixels, the largest first. */
  readonly sides: readonly number[]
  /** Most pixels of a picture. */
  readonly maxPixels: number
  /** For pixels that another plugin has decoded: four bytes for each, red, green, blue and opacity. The picture is upright. */
  readonly decoded?: {
    /** Pixels of the content. */
    readonly width: number
    readonly height: number
    /** The size of the picture itself, which may be larger. */
    readonly picture: { readonly width: number; readonly height: number }
    /** EXIF data in Base64. */
    readonly exif: string | null
  }
}

/** Properties of a picture that it tells itself. */
export interface PictureFacts {
  /** Pixels, as people see the picture: after its orientation was applied. */
  readonly width: number
  readonly height: number
  /** When it was taken, by the clock of the camera, such as `2026-05-01T12:00:00`. */
  readonly taken: string | null
  /** Where it was taken, in degrees (WGS 84). */
  readonly place: { readonly latitude: number; readonly longitude: number } | null
  readonly camera: string | null
}

/** The answer of the sandbox. The previews are its parts, as WebP, in the order of the sides. */
export interface PreviewAnswer {
  /** Null for the cover of audio. */
  readonly facts: PictureFacts | null
}

/** The messages of refusals. */
export const refusals = ['broken', 'no-cover', 'pixels', 'unknown'] as const

export type RefusalReason = (typeof refusals)[number]
