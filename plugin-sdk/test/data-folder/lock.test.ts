import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockDataFolder } from '@nodekeep/plugin-sdk/data-folder'
import { test } from 'tap'
import { startChild } from './fixtures/child.ts'

test('a second process is refused with the process id of the holder', async (t) => {
  const folder = join(t.testdir(), 'data')
  const first = startChild('lock-holder.ts', folder)
  t.equal(await first.line(), 'locked')
  t.equal(statSync(join(folder, 'lock')).mode & 0o777, 0o600)

  const second = startChild('lock-holder.ts', folder)
  const refusal = (await second.line()) ?? ''
  t.match(
    refusal,
    new RegExp(
      `^Another node \\(process ${first.process.pid}, since \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z\\) already uses `,
    ),
  )
  t.ok(refusal.endsWith(`already uses ${folder}. Stop it, or start this one with another --data.`))
  t.throws(() => lockDataFolder(folder), new RegExp(`process ${first.process.pid}`))
  await second.kill()
  t.throws(
    () => lockDataFolder(folder),
    new RegExp(`process ${first.process.pid}`),
    'a refused process does not release the lock',
  )

  await first.kill()
  lockDataFolder(folder).release()
})

test('one of several concurrent processes gets the folder', async (t) => {
  const folder = t.testdir()
  const children = Array.from({ length: 4 }, () => startChild('lock-holder.ts', folder))
  const answers = await Promise.all(children.map((child) => child.line()))
  await Promise.all(children.map((child) => child.kill()))
  t.equal(answers.filter((answer) => answer === 'locked').length, 1, answers.join('\n'))
  t.equal(answers.filter((answer) => answer?.startsWith('Another node')).length, 3)
})

test('a second lock in one process is refused until the first is released', async (t) => {
  const folder = t.testdir()
  const lock = lockDataFolder(folder)
  t.throws(() => lockDataFolder(folder), new RegExp(`^Another node \\(process ${process.pid}, `))
  t.throws(() => lockDataFolder(folder), /Another node/, 'a refusal does not release the lock')
  const child = startChild('lock-holder.ts', folder)
  t.match(await child.line(), `Another node (process ${process.pid}`, 'other processes are refused as well')
  await child.kill()

  lock.release()
  lock.release()
  const again = lockDataFolder(folder)
  t.throws(() => lockDataFolder(folder), /Another node/)
  again.release()
})

test('locks of different folders are independent', async (t) => {
  const folder = t.testdir()
  const locks = ['a', 'b'].map((name) => lockDataFolder(join(folder, name)))
  for (const lock of locks) lock.release()
  t.pass()
})

test('the error about a folder that cannot be locked names the reason', async (t) => {
  const folder = t.testdir({ file: '' })
  t.throws(
    () => lockDataFolder(join(folder, 'file')),
    /The data folder .* cannot be made \(EEXIST\): a file is in its place/,
  )
  writeFileSync(join(folder, 'lock'), 'no database '.repeat(500))
  t.throws(() => lockDataFolder(folder), /lock is damaged or is not a database/)
})
