import java.io.File;
import java.util.ArrayList;
import java.util.List;
import org.semanticweb.owlapi.apibinding.OWLManager;
import org.semanticweb.owlapi.model.IRI;
import org.semanticweb.owlapi.model.OWLOntology;
import org.semanticweb.owlapi.model.OWLOntologyManager;
import org.semanticweb.owlapi.profiles.OWL2DLProfile;
import org.semanticweb.owlapi.profiles.OWLProfileReport;
import org.semanticweb.owlapi.profiles.OWLProfileViolation;
import org.semanticweb.owlapi.util.SimpleIRIMapper;

/**
 * What an ontology editor makes of each file: its library parses it, resolves its imports and judges the OWL 2 DL profile,
 * of which undeclared terms, two kinds of one property and reserved vocabulary are violations.
 *
 * Arguments: pairs IRI=FILE for imports, then -- and the files to judge. Prints one line a file: "ok AXIOMS FILE", or one a
 * violation: "bad FILE VIOLATION".
 */
public class Profile {
  public static void main(String[] arguments) throws Exception {
    List<SimpleIRIMapper> mappers = new ArrayList<>();
    List<File> files = new ArrayList<>();
    boolean judged = false;
    for (String argument : arguments) {
      if (argument.equals("--")) {
        judged = true;
      } else if (judged) {
        files.add(new File(argument));
      } else {
        String[] pair = argument.split("=", 2);
        mappers.add(new SimpleIRIMapper(IRI.create(pair[0]), IRI.create(new File(pair[1]))));
      }
    }
    for (File file : files) {
      OWLOntologyManager manager = OWLManager.createOWLOntologyManager();
      for (SimpleIRIMapper mapper : mappers) {
        manager.getIRIMappers().add(mapper);
      }
      OWLOntology ontology = manager.loadOntologyFromOntologyDocument(file);
      OWLProfileReport report = new OWL2DLProfile().checkOntology(ontology);
      for (OWLProfileViolation violation : report.getViolations()) {
        System.out.println("bad " + file.getName() + " " + violation.toString().replace('\n', ' '));
      }
      if (report.isInProfile()) {
        System.out.println("ok " + ontology.getAxiomCount() + " " + file.getName());
      }
    }
  }
}
