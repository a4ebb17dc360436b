import {
  type AuthenticatedUser,
  type ChangeMaker,
  changeHeaders,
  changeOrigin,
  clientSignal,
  errorBodyOf,
  type FilesService,
  isWasmProgramError,
  NodekeepError,
  nameOf,
  type RoutesApp,
  type Static,
  userOf,
  type WasmLimits,
  type WasmModule,
  type WasmProgramError,
  type WasmProgramOutput,
} from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'
import type { StoredModules } from '../modules/stored-modules.ts'
import { preopensOf } from '../programs/preopens.ts'
import { programInput } from '../programs/program-input.ts'
import type { Runtimes } from '../runtimes.ts'
import { type ModuleUploads, uploadedModule } from './module-uploads.ts'
import { failedRunAnswer, runAnswer, runBody } from './schemas.ts'

/** Characters of the name of a maker. */
const longestName = 255

/** The parts of the plugin that the route uses. */
interface ProgramRouteServices {
  readonly files: FilesService
  readonly runtimes: Runtimes
  readonly stored: StoredModules
  readonly limits: WasmLimits
  readonly uploads: ModuleUploads
  /** Bytes of the largest module. */
  readonly moduleBytes: number
}

/** Registers `POST /run`. */
export function programRoute(app: RoutesApp, services: ProgramRouteServices): void {
  const { files, runtimes, stored, limits, uploads, moduleBytes } = services
  const schema = {
    operationId: 'runProgram',
    summary: 'Run a WASI program',
    headers: changeHeaders,
    body: runBody,
    response: { 200: runAnswer, 422: failedRunAnswer },
  }
  app.post('/run', { ...uploads, schema, config: { scope: 'wasm' } }, async (request, reply) => {
    const { body } = request
    const { encoding = 'utf8', folders = [] } = body
    const user = userOf(request)
    const signal = clientSignal(reply)
    const arrived = performance.now()
    const input = programInput({ ...body, encoding })
    checkSource(body)
    const run = runtimes.forPrograms(user.uuid, signal, async (runtime) => {
      const checked = await preopensOf(folders, user, files.for(user))
      const module =
        body.wasmBytes === undefined
          ? await stored.find(user, body.filepath ?? '', arrived, signal)
          : uploadedModule(body.wasmBytes, moduleBytes)
      signal.throwIfAborted()
      const own = files.for(user, {
        ...changeOrigin(request),
        maker: makerOf(module, user, body.filepath),
      })
      const preopens = checked.map((preopen) => ({ ...preopen, files: own }))
      return runtime.run(module, { ...input, preopens }, limits, signal)
    })
    try {
      const { exitCode, ...output } = await run
      return { success: exitCode === 0, exitCode, ...asTexts(output, encoding) }
    } catch (error) {
      // The node logs failures of its own.
      if (!isWasmProgramError(error) || error.status >= 500) throw error
      return sendFailure(reply, error, asTexts(error, encoding))
    }
  })
}

/** The program as the maker of its changes. */
function makerOf({ hash: id }: WasmModule, { uuid: user }: AuthenticatedUser, filepath = ''): ChangeMaker {
  const name = nameOf(filepath).slice(0, longestName)
  return { kind: 'program', id, ...(name !== '' && { name }), user }
}

/** Sends an error with the output of the program, which tells its author more than the error. */
function sendFailure(reply: FastifyReply, error: WasmProgramError, output: object): FastifyReply {
  const { status, headers } = error
  return reply
    .code(status)
    .headers(headers)
    .send({ ...errorBodyOf(error, reply.request.id), ...output })
}

function checkSource({ filepath, wasmBytes }: Static<typeof runBody>): void {
  if ((filepath === undefined) !== (wasmBytes === undefined)) return
  throw new NodekeepError('VALIDATION_ERROR', 'Name the program either by "filepath" or by "wasmBytes".')
}

/** Bytes that are not valid UTF-8 become U+FFFD. */
function asTexts({ stdout, stderr }: WasmProgramOutput, encoding: 'utf8' | 'base64') {
  const text = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
    Buffer.from(buffer, byteOffset, byteLength).toString(encoding)
  return { stdout: text(stdout), stderr: text(stderr) }
}
