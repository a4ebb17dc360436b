import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { type Constant, jsonOf, valuesOf } from './constants.ts'
import { type Assertion, readScript, type ScriptModule } from './script.ts'
import { wat } from './wat.ts'

/** Scripts in the form of the official test suite. The tests ignore payloads of NaN, which JSON cannot represent. */
const scripts = ['i32', 'i64', 'f32', 'f64', 'conversions', 'results']

t.test('scripts in the form of the official test suite pass over HTTP', async (t) => {
  const node = await createTestNode({
    folder: import.meta.dirname,
    config: { plugins: { files: true, 'storage-local': true, wasm: true, 'wasm-native': true } },
  })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  for (const name of scripts) {
    await t.test(name, async (t) => {
      const source = await readFile(join(import.meta.dirname, 'cases', `${name}.wast`), 'utf8')
      for (const module of readScript(source)) await checkModule(t, user, name, module)
    })
  }
})

async function checkModule(t: Test, user: TestUser, name: string, module: ScriptModule): Promise<void> {
  const filepath = `/${name}-${module.line}.wasm`
  const path = encodeURIComponent(filepath)
  const stored = await user.fetch(`/write?path=${path}`, { method: 'PUT', body: await wat(module.text) })
  t.equal(((await stored.json()) as { success: boolean }).success, true)
  const call = async (name: string, args: string) => {
    const answer = await user.fetch('/api/wasm/execute-file', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"filepath":${JSON.stringify(filepath)},"function":${JSON.stringify(name)},"args":[${args}]}`,
    })
    return { status: answer.status, body: (await answer.json()) as Answer }
  }
  if (module.invalid) {
    const { status, body } = await call('f', '')
    t.strictSame([status, body.code], [400, 'VALIDATION_ERROR'], `line ${module.line}: ${body.message}`)
  }
  for (const assertion of module.assertions) await checkAssertion(t, call, assertion)
}

interface Answer {
  readonly success?: boolean
  readonly result?: unknown
  readonly code?: string
  readonly message?: string
}

type Call = (name: string, args: string) => Promise<{ readonly status: number; readonly body: Answer }>

async function checkAssertion(t: Test, call: Call, { kind, line, name, args, results }: Assertion) {
  const { status, body } = await call(name, (await valuesOf(args)).map(jsonOf).join())
  const what = `line ${line}: ${name} ${args.join(' ')}`
  if (kind === 'assert_trap') {
    t.strictSame([status, body.code], [422, 'UNPROCESSABLE'], `${what}: ${body.message}`)
    return
  }
  const expected = await valuesOf(results)
  const [first, ...others] = expected
  const result = others.length === 0 ? written(first) : expected.map(written)
  t.strictSame(
    { status, ...body, result: signed(body.result) },
    { status: 200, success: true, result: signed(result) },
    what,
  )
}

/** Returns the notation of a result: a number if JSON can represent it, otherwise a text. */
function written(value: Constant | undefined): unknown {
  return value === undefined ? null : JSON.parse(jsonOf(value))
}

/** Distinguishes the zeros. */
function signed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(signed)
  return Object.is(value, -0) ? { zero: 'negative' } : value
}
