/** The longest side of a preview, in pixels. */
export const previewSizes = { small: 256, medium: 768, large: 1600 } as const

/** The name of a size. */
export type PreviewSize = keyof typeof previewSizes

/** All names, the smallest size first. */
export const sizeNames = Object.keys(previewSizes) as readonly PreviewSize[]

/** The sizes that one decoding makes: the pages show the two smaller ones side by side, and the large one rarely. */
export function madeTogether(size: PreviewSize): readonly PreviewSize[] {
  return size === 'large' ? ['large'] : ['medium', 'small']
}
