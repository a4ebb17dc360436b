import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { compile } from './compile.ts'

/**
 * The files in `fixtures/broken` are plugins with mistakes. A comment before each mistake names its error:
 * `// error TS2339: part of the message`. All other code there must compile.
 */
const folder = fileURLToPath(new URL('fixtures/broken', import.meta.url))
const diagnostics = compile(folder)

for (const file of globSync('*.ts', { cwd: folder }).sort()) {
  test(`The mistakes in ${file} do not compile`, async (t) => {
    const expected = expectedErrors(readFileSync(`${folder}/${file}`, 'utf8'))
    const found = new Map(
      diagnostics.filter((entry) => entry.file === file).map((entry) => [entry.line, entry]),
    )
    t.ok(expected.length > 0)
    for (const { line, code, part } of expected) {
      const error = found.get(line)
      t.equal(error?.code, code, `${file}:${line} ${part}`)
      t.match(error?.message, part)
    }
    const surplus = [...found.keys()].filter((line) => expected.every((entry) => entry.line !== line))
    t.strictSame(surplus, [], 'No other line is an error.')
  })
}

function expectedErrors(source: string) {
  return source.split('\n').flatMap((text, index) => {
    const [, code, part] = /^ *\/\/ error (TS\d+): (.+)$/.exec(text) ?? []
    return code === undefined || part === undefined ? [] : [{ line: index + 2, code, part }]
  })
}
