import type { Manifest } from '../walls/packages.ts'

/**
 * Makes the package.json that is published: without the parts that only this repository needs. The condition for the sources
 * goes, because Node refuses TypeScript below node_modules.
 */
export function publishedManifest(manifest: Manifest): object {
  const { devDependencies: _devDependencies, ...published } = manifest
  return JSON.parse(
    JSON.stringify(published, (key, value) => (key === 'nodekeep-source' ? undefined : value)),
  )
}
