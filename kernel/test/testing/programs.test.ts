import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { findProgram, needsPrograms } from '../../src/testing/programs.ts'

test('a program is an executable file in a folder of the PATH', async (t) => {
  const folder = t.testdir({ 'nodekeep-hammer': '', 'nodekeep-plan': '' })
  chmodSync(join(folder, 'nodekeep-hammer'), 0o755)
  const { PATH } = process.env
  t.teardown(() => {
    process.env.PATH = PATH
  })
  process.env.PATH = `/nowhere::${folder}`
  t.equal(findProgram('nodekeep-hammer'), join(folder, 'nodekeep-hammer'))
  t.equal(findProgram('nodekeep-plan'), null, 'no file that cannot be run')

  t.equal(needsPrograms('nodekeep-hammer'), false)
  t.equal(needsPrograms('nodekeep-hammer', 'nodekeep-saw'), 'This test needs the program nodekeep-saw.')
  t.equal(
    needsPrograms('nodekeep-plan', 'nodekeep-saw'),
    'This test needs the programs nodekeep-plan and nodekeep-saw.',
  )
})
