import { FilePath, Secret, type Static, Type } from '@nodekeep/plugin-sdk'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  endpoint: Type.Optional(
    Type.String({
      maxLength: 2048,
      description:
        'The address of the server, such as "https://s3.example.org". Without it, that of AWS in the region.',
    }),
  ),
  region: Type.String({
    default: 'us-east-1',
    minLength: 1,
    maxLength: 64,
    description: "The region of the bucket. Many servers of one's own take any.",
  }),
  bucket: Type.String({
    minLength: 3,
    maxLength: 255,
    description: 'The bucket. It must exist.',
  }),
  prefix: Type.String({
    default: '',
    maxLength: 256,
    pattern: '^([^/].*/)?$',
    description: 'The beginning of all keys. It is empty, or ends with "/", such as "nodekeep/".',
  }),
  pathStyle: Type.Optional(
    Type.Boolean({
      description:
        'Whether the bucket is a part of the path of an address, not of its host name. By default, it is if "endpoint" is set.',
    }),
  ),
  accessKeyId: Type.Optional(
    Secret({
      minLength: 1,
      maxLength: 1024,
      description: 'The name of the access key. It needs "secretAccessKey".',
    }),
  ),
  secretAccessKey: Type.Optional(
    Secret({ minLength: 1, maxLength: 1024, description: 'The secret of the access key.' }),
  ),
  credentialsFile: Type.Optional(
    FilePath({
      description:
        'A file with credentials in the form of ~/.aws/credentials, in place of the two keys. It is read again every minute.',
    }),
  ),
  profile: Type.String({
    default: 'default',
    minLength: 1,
    maxLength: 256,
    description: 'The section of "credentialsFile".',
  }),
  scanMinutes: Type.Integer({
    default: 60,
    minimum: 1,
    maximum: 7 * 24 * 60,
    description: 'How often the bucket is listed to find changes of other programs.',
  }),
})

export type Configuration = Static<typeof configuration>
