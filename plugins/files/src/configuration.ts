import { ByteSize, Type } from '@nodekeep/plugin-sdk'

/** Days for which something is kept if the configuration does not say. */
export const defaultDays = 30

/** Days for which something is kept, or `false`. */
function kept(description: string) {
  const days = Type.Integer({ minimum: 1, maximum: 36500, default: defaultDays })
  return Type.Union([Type.Object({ days }), Type.Literal(false)], {
    default: { days: defaultDays },
    description,
  })
}

/** The section `storage` of the configuration. */
export const configuration = Type.Object({
  maxFileSize: ByteSize({
    default: 10 * 1024 ** 3,
    description: 'Maximum size of an uploaded file, in bytes.',
  }),
  mounts: Type.Object(
    {
      '/': Type.String({
        default: 'local',
        description: 'The storage backend of everything that no other mount has.',
      }),
    },
    {
      additionalProperties: Type.String(),
      default: {},
      description: 'The storage backend of each folder: folder paths to backend names.',
    },
  ),
  hashedBytesPerSecond: ByteSize({
    default: 64 * 1024 ** 2,
    minimum: 1024 ** 2,
    description: 'Bytes of files that are hashed in the background per second.',
  }),
  trash: kept(
    'Days for which deleted files are kept, as { days: 30 }. With false, they are deleted for good.',
  ),
  versions: kept(
    'Days for which the former contents of files are kept, as { days: 30 }. With false, overwriting a file deletes them for good.',
  ),
  journal: Type.Object(
    {
      keepDays: Type.Integer({
        default: 90,
        minimum: 1,
        maximum: 36500,
        description: 'Days for which the journal keeps changes. The newest 10,000 of each user stay longer.',
      }),
    },
    { default: {} },
  ),
})
