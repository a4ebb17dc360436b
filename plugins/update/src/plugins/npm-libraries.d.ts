/** The parts of npm's own libraries that are used here. They have no declarations. */

declare module '@npmcli/arborist' {
  export class Arborist {
    constructor(options: Readonly<Record<string, unknown>>)
    /** Installs packages into the folder `path`, and stores their names in its package.json. */
    reify(options: {
      readonly add: readonly string[]
    }): Promise<{ readonly inventory: { readonly size: number } }>
  }
}

declare module '@npmcli/config' {
  export default class Config {
    constructor(options: Readonly<Record<string, unknown>>)
    /** The settings of all sources, as the other libraries take them. */
    readonly flat: Readonly<Record<string, unknown>>
    load(): Promise<void>
  }
}

declare module '@npmcli/config/lib/definitions/index.js' {
  /** The options of `Config` that say which settings npm has. */
  const options: Readonly<Record<'definitions' | 'shorthands' | 'flatten', unknown>>
  export default options
}

declare module 'npm-package-arg' {
  export default function parse(
    spec: string,
    where: string,
  ): { readonly type: string; readonly name: string | null; readonly saveSpec: string | null }
}

declare module 'pacote' {
  const pacote: {
    manifest(
      spec: string,
      options: Readonly<Record<string, unknown>>,
    ): Promise<{ readonly version: string; readonly nodekeep?: { readonly sdk?: unknown } }>
  }
  export default pacote
}
