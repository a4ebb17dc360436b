import type { RoutesApp } from '@nodekeep/plugin-sdk'
import { callerOf } from './caller.ts'
import { connectionSignal } from './connection-signal.ts'
import type { WasmRoutesParts } from './routes.ts'
import { exportsAnswer, exportsQuery } from './schemas.ts'

/** Registers `GET /exports`. */
export function exportsRoute(app: RoutesApp, { queue, stored, calls }: WasmRoutesParts): void {
  const schema = {
    summary: 'List the functions of a stored module',
    querystring: exportsQuery,
    response: { 200: exportsAnswer },
  }
  app.get('/exports', { schema, config: { scope: 'wasm' } }, async (request) => {
    const user = callerOf(request)
    const signal = connectionSignal(request)
    const list = await queue.run(user.uuid, signal, async () =>
      calls.list(await stored.find(user, request.query.path, signal), signal),
    )
    return {
      exports: list.all.map(({ name, parameters, results }) => ({
        name,
        parameters: [...parameters],
        results: [...results],
      })),
    }
  })
}
