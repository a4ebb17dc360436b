import { readdirSync, readFileSync } from 'node:fs'
import { SandboxProcess, type SandboxProcessOptions } from '@nodekeep/plugin-sdk/sandbox-process'
import { type Test, test } from 'tap'

const options: SandboxProcessOptions = {
  main: new URL('./fixtures/confined-program.ts', import.meta.url),
  args: ['one', 'two'],
  heapBytes: 64 * 2 ** 20,
  openFiles: 64,
}

/** Starts a process that ends with the test. */
function start(t: Test, data?: (chunk: Buffer) => void) {
  const ended = Promise.withResolvers<void>()
  let text = ''
  const waiting: ((line: unknown) => void)[] = []
  const listener = {
    data: (chunk: Buffer) => {
      data?.(chunk)
      text += chunk
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        waiting.shift()?.(JSON.parse(text.slice(0, end)))
        text = text.slice(end + 1)
      }
    },
    ended: () => ended.resolve(),
  }
  const sandbox = new SandboxProcess(options, listener)
  t.teardown(async () => {
    sandbox.kill()
    await ended.promise
  })
  return {
    sandbox,
    ended: ended.promise,
    ask(action: string): Promise<unknown> {
      const { promise, resolve } = Promise.withResolvers<unknown>()
      waiting.push(resolve)
      sandbox.input.write(`${action}\n`)
      return promise
    },
  }
}

test('A sandbox has only its arguments, its own files and the reader of binaries', async (t) => {
  process.env.NODEKEEP_SECRET = 'secret'
  t.teardown(() => delete process.env.NODEKEEP_SECRET)
  const { ask, sandbox } = start(t)
  t.strictSame(await ask('args'), ['one', 'two'])
  t.strictSame(await ask('environment'), {})
  t.equal(await ask('own'), true)
  t.equal(await ask('binary'), 624_485)
  for (const action of ['read', 'write', 'spawn']) t.equal(await ask(action), 'ERR_ACCESS_DENIED', action)
  if (process.platform === 'linux') t.ok(sandbox.residentBytes > 10 * 2 ** 20)
})

test('A sandbox from TypeScript does not load the compiler that strips its types', async (t) => {
  const { ask } = start(t)
  t.equal(await ask('compiler'), false)
})

test('A sandbox ends when its input ends or when it is killed', async (t) => {
  const one = start(t)
  await one.ask('args')
  t.equal(one.sandbox.exit, null)
  one.sandbox.input.end()
  await one.ended
  t.equal(one.sandbox.exit, 'exit code 0')
  const other = start(t)
  other.sandbox.kill()
  await other.ended
  t.equal(other.sandbox.exit, 'SIGKILL')
})

const skip = process.platform === 'linux' ? false : 'Only Linux shows the priority of each thread.'
test('Every thread of a sandbox that has started has a lower priority than the node', { skip }, async (t) => {
  const { ask, sandbox } = start(t)
  await ask('args')
  const tasks = `/proc/${sandbox.pid}/task`
  const threads = readdirSync(tasks)
  t.ok(threads.length > 1)
  // The 19th field, of which the second ends with ")" (proc(5)).
  const niceness = (thread: string) =>
    Number(readFileSync(`${tasks}/${thread}/stat`, 'latin1').split(') ')[1]?.split(' ')[16])
  t.strictSame(new Set(threads.map(niceness)), new Set([3]))
})

test('A full heap is reported as out of memory', async (t) => {
  const { ask, ended, sandbox } = start(t)
  void ask('fill')
  await ended
  t.equal(sandbox.ranOutOfMemory, true)
})

test('A sandbox with an invalid answer is killed', async (t) => {
  const { ask, ended, sandbox } = start(t, () => {
    throw new RangeError('This makes no sense.')
  })
  void ask('args')
  await ended
  t.match(sandbox, { exit: 'SIGKILL', stderrTail: /makes no sense/, ranOutOfMemory: false })
})
