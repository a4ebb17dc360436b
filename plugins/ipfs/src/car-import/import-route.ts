import { rm } from 'node:fs/promises'
import {
  changeHeaders,
  changeOrigin,
  clientSignal,
  type FilesService,
  type Log,
  NodekeepError,
  type RoutesApp,
  Type,
  userOf,
} from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'
import { WorkAtOnce } from '../work-at-once.ts'
import { tooManyBytes } from './too-many-bytes.ts'

/** Imports at a time, in all and of one user. Each has blocks of at most 2 MiB in memory, and its CAR on the disk. */
const mostImports = 8
const mostPerUser = 2

interface ImportRouteOptions {
  readonly files: FilesService
  /** Holds CARs while they are imported. Nothing else is in it. */
  readonly spoolFolder: string
  /** Bytes of a CAR, and of the files in it. */
  readonly maxBytes: number
  readonly log: Log
}

/** Removes the CARs of imports that the end of the process has cut off. */
export async function removeOldSpools(spoolFolder: string): Promise<void> {
  await rm(spoolFolder, { recursive: true, force: true })
}

/** Registers `POST /import`. */
export function importRoute(app: RoutesApp, { files, spoolFolder, maxBytes, log }: ImportRouteOptions): void {
  const imports = new WorkAtOnce({
    most: mostImports,
    mostPerKey: mostPerUser,
    tooMuch: `You have ${mostPerUser} imports that run. Try again when one has ended.`,
  })
  const refuseEarly = async ({ headers }: FastifyRequest) => {
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooManyBytes(maxBytes)
    if (!/^\s*(identity)?\s*$/i.test(headers['content-encoding'] ?? ''))
      throw new NodekeepError('UNSUPPORTED_MEDIA_TYPE', 'Send the CAR as it is, without "content-encoding".')
  }
  app.register(async (scope: RoutesApp) => {
    scope.removeAllContentTypeParsers()
    // A page of another site cannot send this type without being asked.
    scope.addContentTypeParser('application/vnd.ipld.car', (_request, _body, done) => done(null))
    scope.post(
      '/import',
      {
        onRequest: [refuseEarly],
        config: { scope: 'ipfs', body: 'stream', answersLate: true },
        schema: {
          operationId: 'importCar',
          summary: 'Write the file or folder of a CAR into a folder',
          headers: changeHeaders,
          querystring: Type.Object({
            path: Type.String({ description: 'The folder, such as "/Documents".' }),
            name: Type.Optional(
              Type.String({ minLength: 1, description: 'The name of the file or folder. Default: its CID.' }),
            ),
          }),
          requestBody: {
            content: { 'application/vnd.ipld.car': { schema: Type.String({ format: 'binary' }) } },
          },
          response: {
            200: Type.Object({
              path: Type.String({ description: 'The file or folder. A name that was taken has a number.' }),
              cid: Type.String(),
              files: Type.Integer(),
              bytes: Type.Integer({ description: 'Of all files.' }),
              symlinks: Type.Integer({ description: 'Symbolic links. They are left out.' }),
            }),
          },
        },
      },
      async (request, reply) => {
        const user = userOf(request)
        const { path, name } = request.query
        return imports.run(user.uuid, async () => {
          const { importCar } = await import('./import-car.ts')
          // Leaving the loop must not end the connection, because an error is still to be sent on it.
          const content = request.raw.iterator({ destroyOnReturn: false })
          return importCar(content, {
            files: files.for(user, changeOrigin(request)),
            into: path,
            name,
            spoolFolder,
            maxBytes,
            maxFileSize: files.maxFileSize,
            log,
            signal: clientSignal(reply),
          })
        })
      },
    )
  })
}
