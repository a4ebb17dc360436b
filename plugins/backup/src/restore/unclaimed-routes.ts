import type { IncomingHttpHeaders } from 'node:http'
import { clientSignal, type NodeInfo, NodekeepError, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import { logSecurityEvent } from '../security-event.ts'
import { planRestore } from './plan-restore.ts'
import { prepareRestore } from './prepare-restore.ts'
import { describeRestore, type RestoreServices, restoreAnswer, restoreChoices } from './restore-answer.ts'
import { stopping } from './restore-routes.ts'
import type { UploadedBackup } from './uploaded-backup.ts'

interface UnclaimedRouteServices extends RestoreServices {
  readonly uploaded: UploadedBackup
  readonly info: Pick<NodeInfo, 'isClaimed' | 'mayClaim'>
}

/** The header with the claim code. */
const claimHeader = 'x-nodekeep-claim'

/** Requests of one client address per minute: a person tries a code again, and a page asks how far the restore is. */
const requestsPerMinute = 120

/**
 * Registers `/auth/restore`: a person with the claim code restores a backup on a node without an owner. Nobody can sign in there, so the
 * code stands for the future owner, as at the first sign-in.
 */
export function unclaimedRoutes(app: RoutesApp, services: UnclaimedRouteServices): void {
  const { uploaded, info, folders, restores, control } = services
  /** The share of the backup that was read, from 0 to 1; null while none is read. */
  let share: number | null = null

  /** Runs when the request was counted, and before its body is read. */
  const requireClaim = async ({ headers }: { readonly headers: IncomingHttpHeaders }) => {
    const code = headers[claimHeader]
    if (typeof code === 'string' && code.length <= 64 && (await info.mayClaim(code))) return
    throw new NodekeepError(
      'FORBIDDEN',
      (await info.isClaimed())
        ? 'This node has an owner, who restores backups on the page "Node", under "Backups".'
        : 'The claim code is wrong.',
    )
  }
  const config = {
    access: 'public',
    publicReason:
      'A node without an owner has no users. The claim code is required. Requests are limited for each address.',
    rateLimit: { max: requestsPerMinute, timeWindow: 60_000 },
  } as const
  const tags = ['backup']
  const preParsing = requireClaim
  const headers = Type.Object({
    [claimHeader]: Type.Optional(Type.String({ description: 'The claim code that the node has printed.' })),
  })

  app.register(async (raw: RoutesApp) => {
    raw.removeAllContentTypeParsers()
    // A page of another site cannot send this type without being asked.
    raw.addContentTypeParser('application/gzip', (_request, _body, done) => done(null))
    raw.put(
      '/auth/restore',
      {
        preParsing,
        config: { ...config, body: 'stream', answersLate: true },
        schema: {
          operationId: 'uploadBackup',
          summary: 'Upload a backup to a node without an owner',
          tags,
          headers,
          requestBody: { content: { 'application/gzip': { schema: Type.String({ format: 'binary' }) } } },
          response: {
            200: Type.Object({
              size: Type.Integer({ description: 'Bytes.' }),
              created: Type.String({ format: 'date-time', description: 'The moment of the state.' }),
              encrypted: Type.Boolean({ description: 'Whether a recovery key is needed.' }),
            }),
          },
        },
      },
      async (request, reply) => {
        const length = request.headers['content-length']
        // Leaving the loop must not end the connection, because an error is still to be sent on it.
        const content = request.raw.iterator({ destroyOnReturn: false })
        const size = length === undefined ? null : Number(length)
        const received = await uploaded.receive(content, size, clientSignal(reply))
        logSecurityEvent(request, 'backup-uploaded', 'A backup was uploaded with the claim code.', {
          bytes: received.size,
        })
        return { ...received, created: received.created.toISOString() }
      },
    )
  })

  app.get(
    '/auth/restore',
    {
      preParsing,
      config,
      schema: {
        operationId: 'getUploadedRestore',
        summary: 'Get how far the restore of the uploaded backup is',
        tags,
        headers,
        response: {
          200: Type.Object({
            reading: Type.Union([Type.Number(), Type.Null()], {
              description: 'The share of the backup that was read, from 0 to 1. Null while none is read.',
            }),
          }),
        },
      },
    },
    async () => ({ reading: share }),
  )

  app.post(
    '/auth/restore/compare',
    {
      preParsing,
      config: { ...config, answersLate: true },
      schema: {
        operationId: 'compareUploadedBackup',
        summary: 'Verify the uploaded backup, and tell what it has',
        tags,
        headers,
        body: Type.Object(restoreChoices, { additionalProperties: false }),
        response: { 200: restoreAnswer },
      },
    },
    async (request, reply) => {
      const { key, newIdentity, without } = request.body
      await services.finished
      return uploaded.alone(async () => {
        const { file } = uploaded.get()
        using _lock = folders.lock()
        share = 0
        try {
          const folder = await prepareRestore(
            { ...services, hasBackend: (name) => services.backends.has(name) },
            {
              file,
              identities: key === undefined ? [] : [key],
              newIdentity,
              without,
              signal: AbortSignal.any([services.signal, clientSignal(reply)]),
              onProgress(read) {
                share = read
              },
            },
          )
          return describeRestore(folder, { planned: false, replaces: null, supervised: control.supervised })
        } catch (error) {
          throw services.signal.aborted ? stopping() : error
        } finally {
          share = null
        }
      })
    },
  )

  app.post(
    '/auth/restore/confirm',
    {
      preParsing,
      config,
      schema: {
        operationId: 'confirmUploadedRestore',
        summary:
          'Restore the uploaded backup at the next start, and restart the node if something starts it again',
        tags,
        headers,
        body: Type.Object(
          { prepared: Type.String({ description: 'Of the answer to `POST /auth/restore/compare`.' }) },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ restarts: Type.Boolean() }) },
      },
    },
    async (request) => {
      await services.finished
      const filename = await uploaded.alone(async () => {
        using _lock = folders.lock()
        // The body may have come long after the headers, and the node may have got an owner meanwhile.
        await requireClaim(request)
        const folder = await folders.ready(request.body.prepared)
        if (folder === null)
          throw new NodekeepError(
            'NOT_FOUND',
            'This restore is not prepared any more. Upload the backup again.',
          )
        await planRestore(folder, folders, restores)
        return folder.record.backup
      })
      logSecurityEvent(request, 'restore-planned', 'The next start restores a backup.', { filename })
      // Everything of it is unpacked beside the data.
      await uploaded.remove()
      if (control.supervised) control.restart(`The backup ${filename} is restored.`)
      return { restarts: control.supervised }
    },
  )
}
