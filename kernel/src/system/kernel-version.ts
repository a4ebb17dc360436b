import manifest from '../../package.json' with { type: 'json' }

/** The version of this kernel, `<major>.<minor>.<patch>`. */
export const kernelVersion: string = manifest.version
