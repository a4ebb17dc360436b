import type { Manifest } from '../walls/packages.ts'

/**
 * A package.json as it is published: without what only this repository needs. Node reads no TypeScript below
 * node_modules, so that the condition which leads to the sources would break whoever had it set.
 */
export function publishedManifest(manifest: Manifest): object {
  const { devDependencies: _devDependencies, ...published } = manifest
  return JSON.parse(
    JSON.stringify(published, (key, value) => (key === 'nodekeep-source' ? undefined : value)),
  )
}
