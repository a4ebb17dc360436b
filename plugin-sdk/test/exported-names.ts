import { fileURLToPath } from 'node:url'
import { API } from 'typescript/unstable/sync'

const folder = fileURLToPath(new URL('../', import.meta.url))

/** Returns the exported names of modules, including types, by the path of the module from the folder of this package. */
export function exportedNames(modules: readonly string[]): Map<string, string[]> {
  const api = new API({ cwd: folder })
  try {
    const [project] = api.updateSnapshot({ openProject: `${folder}../tsconfig.json` }).getProjects()
    if (project === undefined) throw new Error('There is no project.')
    const { program, checker } = project
    return new Map(
      modules.map((path) => {
        const source = program.getSourceFile(folder + path)
        const symbol = source && checker.getSymbolAtLocation(source)
        if (!symbol) throw new Error(`${path} is no module.`)
        return [path, checker.getExportsOfModule(symbol).map(({ name }) => name)]
      }),
    )
  } finally {
    api.close()
  }
}
