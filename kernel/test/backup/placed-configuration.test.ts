import { join } from 'node:path'
import { test } from 'tap'
import { placedConfiguration } from '../../src/backup/placed-configuration.ts'
import { loadConfiguration } from '../../src/configuration/configuration.ts'
import { presetFile } from '../../src/configuration/presets.ts'

const load = (file: string | null, workingDirectory: string) =>
  loadConfiguration({ file, environment: {}, flags: {}, workingDirectory })

test('the files of a configuration have places that fit another machine', async (t) => {
  const base = '{ "log": { "level": "warn" } }'
  const outside = t.testdir({
    elsewhere: { 'base.json': base, 'nodekeep.json': base },
    node: {
      'my-node.json': `{
        "extends": ["nodekeep:minimal", "./base.json", "./presets/own.json", "../elsewhere/base.json", "../elsewhere/nodekeep.json"],
      }`,
      'base.json': base,
      presets: { 'own.json': base },
    },
  })
  const folder = join(outside, 'node')
  const placed = placedConfiguration(await load('my-node.json', folder))
  t.strictSame(
    placed.map(({ path, file }) => [path, file]),
    [
      ['nodekeep.json', join(folder, 'my-node.json')],
      ['base.json', join(folder, 'base.json')],
      ['presets/own.json', join(folder, 'presets/own.json')],
      ['base-2.json', join(outside, 'elsewhere/base.json')],
      ['nodekeep-2.json', join(outside, 'elsewhere/nodekeep.json')],
    ],
  )
})

test('a node without a configuration file has none to keep', async (t) => {
  const folder = t.testdir()
  t.strictSame(placedConfiguration(await load(null, folder)), [])
  t.strictSame(placedConfiguration(await load(presetFile('nodekeep:default'), folder)), [])
})
