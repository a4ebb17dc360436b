import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Package } from './packages.ts'

/**
 * Checks that people find each plugin of this repository: its README begins with what the plugin does, the README and the
 * CHANGELOG of the repository name the plugin, and so does a preset or the list of plugins that are off by default.
 *
 * @returns one line for each place that lacks a plugin
 */
export function checkPluginPlaces(root: string, packages: readonly Package[]): string[] {
  const read = (file: string) => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '')
  const presets = globSync('config/*.json', { cwd: root }).map((file) => JSON.parse(read(file)))
  const offByDefault = read('config/README.md')
    .split('\n\n')
    .filter((paragraph) => paragraph.includes('off by default'))
  return packages
    .filter(({ kind }) => kind === 'plugin')
    .flatMap(({ folder }) => {
      const id = folder.replace('plugins/', '')
      const isNamed = (text: string) => text.includes(`\`${id}\``)
      const isInPreset = presets.some(({ plugins }) => (plugins?.[id] ?? false) !== false)
      return [
        ...(/^# .+\n\n[A-Z*]/.test(read(`${folder}/README.md`))
          ? []
          : [`${folder}/README.md: begin with a heading, and then say what the plugin does`]),
        ...(isNamed(read('README.md')) ? [] : [`README.md: name the plugin \`${id}\``]),
        ...(isNamed(read('CHANGELOG.md')) ? [] : [`CHANGELOG.md: name the plugin \`${id}\``]),
        ...(isInPreset || offByDefault.some(isNamed)
          ? []
          : [`config: put \`${id}\` into a preset, or name it in config/README.md as off by default`]),
      ]
    })
}
