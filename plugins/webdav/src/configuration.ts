import { ByteSize, Type } from '@nodekeep/plugin-sdk'

/** The section `webdav` of the configuration. */
export const configuration = Type.Object({
  locksPerUser: Type.Integer({
    default: 1000,
    minimum: 1,
    maximum: 10_000,
    description: 'Maximum number of locks of a user.',
  }),
  longestLockSeconds: Type.Integer({
    default: 24 * 60 * 60,
    minimum: 60,
    maximum: 7 * 24 * 60 * 60,
    description: 'Seconds after which a lock ends that no program renews.',
  }),
  propertyBytesPerEntry: ByteSize({
    default: 64 * 1024,
    minimum: 1024,
    description: 'Maximum size of the properties that programs set on a file or folder, in bytes.',
  }),
  propertyBytesPerUser: ByteSize({
    default: 8 * 1024 ** 2,
    minimum: 1024,
    description:
      'Maximum size of the properties that programs set on all files and folders of a user, in bytes.',
  }),
})
