import { ByteSize, Type } from '@nodekeep/plugin-sdk'

/** The section `file-sync` of the configuration. */
export const configuration = Type.Object({
  devicesPerUser: Type.Integer({
    default: 100,
    minimum: 1,
    maximum: 10_000,
    description: 'Maximum number of devices of a user.',
  }),
  connectionsPerUser: Type.Integer({
    default: 100,
    minimum: 1,
    maximum: 10_000,
    description: 'Maximum number of connections of a user that follow changes.',
  }),
  stagedBytesPerUser: ByteSize({
    default: 12 * 1024 ** 3,
    minimum: 1024 ** 2,
    description: 'Maximum size of the blocks that a user has sent for unfinished uploads, in bytes.',
  }),
  hashedBytesPerSecond: Type.Optional(
    ByteSize({
      minimum: 1024 ** 2,
      description: 'Has no effect any more: `storage.hashedBytesPerSecond` is in its place.',
    }),
  ),
})
