import { ByteSize, Type } from '@nodekeep/plugin-sdk'

/** The section `uploads` of the configuration. */
export const configuration = Type.Object({
  uploadsPerUser: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 1000,
    description: 'Maximum number of unfinished uploads of a user.',
  }),
  stagedBytesPerUser: ByteSize({
    default: 12 * 1024 ** 3,
    minimum: 1024 ** 2,
    description: 'Maximum size of what a user has sent for unfinished uploads, in bytes.',
  }),
})
