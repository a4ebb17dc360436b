import type { S3, S3ClientConfig } from '@aws-sdk/client-s3'
import { apiEndpoint } from '@nodekeep/plugin-sdk'
import type { Configuration } from '../configuration.ts'

/** How long a connection may take to open, in milliseconds. */
const connectMs = 5000

/** How long a connection may be without a byte, in milliseconds. A slow upload moves bytes. */
const silentMs = 30_000

/** How often a request is sent in all, if the server does not answer or asks to try again. */
const attempts = 3

/** The library takes credentials as expired from this many milliseconds before their end. */
const expiresEarlyMs = 5 * 60_000

/** How long credentials of a file count, in milliseconds. */
const readAgainMs = 60_000

/** Sockets have no bound of their own: a reader that pauses holds one, and the node bounds its clients. */
const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }

/**
 * Checks what the schema of the configuration cannot.
 *
 * @param section the section of the configuration, for messages
 * @throws Error that names the key
 */
export function checkConfiguration(config: Configuration, section: string): void {
  const { endpoint, accessKeyId, secretAccessKey, credentialsFile } = config
  if (endpoint !== undefined) {
    apiEndpoint(endpoint, {
      setting: `${section}.endpoint`,
      example: 'https://s3.example.org',
      secret: `${section}.secretAccessKey`,
      exposed: 'your files',
    })
  }
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
    throw new Error(`${section} needs both accessKeyId and secretAccessKey, or none of them.`)
  if (accessKeyId !== undefined && credentialsFile !== undefined)
    throw new Error(`${section} takes its credentials from accessKeyId or from credentialsFile. Remove one.`)
}

/** Makes a client. The library is imported here, because it takes 35 MB of memory. */
export async function connect(config: Configuration): Promise<S3> {
  const { S3 } = await import('@aws-sdk/client-s3')
  const { endpoint, region, pathStyle = endpoint !== undefined } = config
  const credentials = await credentialsOf(config)
  return new S3({
    region,
    forcePathStyle: pathStyle,
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials !== undefined && { credentials }),
    // By default, the library sends checksums in a form that many servers refuse.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // By default, the library opens a connection of its own for each part of a file, and waits for the server before it sends the part.
    expectContinueHeader: false,
    maxAttempts: attempts,
    requestHandler: {
      connectionTimeout: connectMs,
      socketTimeout: silentMs,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
}

/** Returns undefined for those that the library finds itself: variables, files and roles of AWS. */
async function credentialsOf({
  accessKeyId,
  secretAccessKey,
  credentialsFile: filepath,
  profile,
}: Configuration): Promise<S3ClientConfig['credentials']> {
  if (accessKeyId !== undefined && secretAccessKey !== undefined) return { accessKeyId, secretAccessKey }
  if (filepath === undefined) return undefined
  const { fromIni } = await import('@aws-sdk/credential-provider-ini')
  const read = fromIni({ filepath, profile, ignoreCache: true })
  return async () => {
    const credentials = await read()
    return { expiration: new Date(Date.now() + expiresEarlyMs + readAgainMs), ...credentials }
  }
}
