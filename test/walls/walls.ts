import { checkCircles } from './circles.ts'
import { checkComments } from './comments.ts'
import { checkConsumers } from './consumers.ts'
import { checkDocumentPaths } from './document-paths.ts'
import { checkDocumentation } from './documentation.ts'
import { checkFileNames } from './file-names.ts'
import { importGraph } from './import-graph.ts'
import { checkImports } from './imports.ts'
import { checkAddresses, checkInstalls } from './installs.ts'
import { checkManifests } from './manifests.ts'
import { readPackages } from './packages.ts'
import { checkPluginPlaces } from './plugin-places.ts'
import { withProgram } from './program.ts'
import { checkRegistryNames } from './registry-names.ts'
import { checkSampleWallets } from './sample-wallets.ts'
import { checkSecurityTests } from './security-tests.ts'
import { checkUnusedExports } from './unused-exports.ts'

/**
 * Checks the rules of the repository that neither the compiler nor the linter checks.
 *
 * @returns one line for each breach
 */
export function checkWalls(root: string): string[] {
  const packages = readPackages(root)
  return withProgram(root, (program) => {
    const graph = importGraph(packages, program.files)
    const files = [...graph.keys()]
    return [
      ...checkImports(packages, program, graph),
      ...checkCircles(packages, graph),
      ...checkManifests(root, packages),
      ...checkPluginPlaces(root, packages),
      ...checkInstalls(root),
      ...checkAddresses(root),
      ...checkSampleWallets(root),
      ...checkRegistryNames(root),
      ...checkSecurityTests(root),
      ...checkDocumentation(packages, program),
      ...checkDocumentPaths(root, packages, files),
      ...checkConsumers(root, packages, program),
      ...checkUnusedExports(packages, program),
      ...checkComments(root, files),
      ...checkFileNames(files),
    ]
  })
}
