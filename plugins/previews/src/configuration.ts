import { ByteSize, Type } from '@nodekeep/plugin-sdk'

/** The section `previews` of the configuration. */
export const configuration = Type.Object({
  background: Type.Boolean({
    default: true,
    description:
      'Whether previews are made before somebody asks for them. Without it, the list of photos stays empty.',
  }),
  cacheBytes: ByteSize({
    default: 2 * 1024 ** 3,
    minimum: 1024 ** 2,
    description:
      'Maximum size of all previews that are kept, in bytes. Those that were not used for longest go first.',
  }),
  maxFileSize: ByteSize({
    default: 128 * 1024 ** 2,
    maximum: 1024 ** 3,
    description: 'Maximum size of a file that gets a preview, in bytes.',
  }),
  maxPixels: Type.Integer({
    default: 250_000_000,
    minimum: 1,
    maximum: 1_000_000_000,
    description: 'Maximum number of pixels of a picture that gets a preview.',
  }),
})
