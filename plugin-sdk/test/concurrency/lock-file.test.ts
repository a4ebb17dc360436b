import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { lockFile } from '@nodekeep/plugin-sdk'
import t from 'tap'

t.test('One holder at a time has a lock, and its disposal gives it back.', async (t) => {
  const file = join(t.testdir(), 'lock')
  const first = lockFile(file)
  t.ok(first)
  t.equal(lockFile(file), null)
  first?.[Symbol.dispose]()
  first?.[Symbol.dispose]()
  const second = lockFile(file)
  t.ok(second, 'it is free again')
  second?.[Symbol.dispose]()
})

t.test('Another process has a lock until it is killed.', async (t) => {
  const file = join(t.testdir(), 'lock')
  const hold = `import { lockFile } from '@nodekeep/plugin-sdk'
    globalThis.lock = lockFile(${JSON.stringify(file)})
    process.stdout.write('held')
    setInterval(() => {}, 1000)`
  const holder = execFile(process.execPath, [...process.execArgv, '--input-type=module', '-e', hold], {
    cwd: import.meta.dirname,
  })
  t.teardown(() => holder.kill('SIGKILL'))
  t.equal(String((await once(holder.stdout ?? holder, 'data'))[0]), 'held')
  t.equal(lockFile(file), null)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  const lock = lockFile(file)
  t.ok(lock)
  lock?.[Symbol.dispose]()
})

t.test('A file that cannot be a lock is an error, and not a lock.', async (t) => {
  t.throws(() => lockFile(join(t.testdir(), 'missing', 'lock')))
  t.throws(() => lockFile(join(t.testdir({ lock: 'this is not a database'.repeat(100) }), 'lock')))
})
